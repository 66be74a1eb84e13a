"use strict";
(() => {
  const PAGE = 50;
  const root = document.documentElement;

  function make(tag, options = {}, ...children) {
    const { className, ...attributes } = options;
    const element = document.createElement(tag);
    if (className) element.className = className;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  // Theme: as the system says, until somebody chooses.
  const toggle = document.getElementById("theme");
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches);
  const name = () => { toggle.textContent = isDark() ? "Light theme" : "Dark theme"; };
  // A page opened from a file may be refused its storage.
  try { root.dataset.theme = localStorage.getItem("orinbench-theme") || ""; } catch {}
  toggle.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("orinbench-theme", root.dataset.theme); } catch {}
    name();
  });
  systemDark.addEventListener("change", name);
  name();

  // Sorting: what is empty stays last; an interval counts by its lower bound.
  function compare(numeric, one, other) {
    if (!one || !other) return one ? -1 : other ? 1 : 0;
    return numeric ? parseFloat(one) - parseFloat(other) : one.localeCompare(other);
  }
  function sort(header) {
    const table = header.closest("table");
    const down = header.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const column = header.cellIndex, numeric = header.classList.contains("number");
    const text = (row) => row.cells[column].innerText.trim();
    const rows = [...table.tBodies[0].rows].map((row) => [text(row), row]);
    rows.sort(([one], [other]) => {
      const order = compare(numeric, one, other);
      return down && one && other ? -order : order;
    });
    table.tBodies[0].append(...rows.map(([, row]) => row));
  }
  for (const header of document.querySelectorAll("table.sortable th[aria-sort]")) {
    header.firstElementChild.addEventListener("click", () => sort(header));
  }

  // Filters: every word must stand in a line, or in what is known of its run.
  for (const input of document.querySelectorAll("input.filter")) {
    const section = input.closest("section");
    const lines = [...section.querySelectorAll(":scope > details.run, table.sortable tbody tr[data-find]")]
      .filter((line) => line.matches("details") || section.classList.contains("board"));
    const found = input.closest(".controls").querySelector(".found");
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const line of lines) {
        const head = line.matches("details") ? line.firstElementChild : line;
        const text = `${head.textContent} ${line.dataset.find}`.toLowerCase();
        line.hidden = !words.every((word) => text.includes(word));
        shown += !line.hidden;
      }
      found.textContent = words.length ? `${shown} of ${lines.length}` : "";
    });
  }

  // A link to a run opens it.
  function openTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target?.matches("details")) {
      target.open = true;
      target.scrollIntoView();
      target.firstElementChild.focus();
    }
  }
  addEventListener("hashchange", openTarget);

  // Samples: unpacked when their run is opened, a page of them at a time.
  const milliseconds = (value) => (value === null ? null : value >= 1000 ? `${(value / 1000).toFixed(2)} s` : `${value.toFixed(1)} ms`);
  const rate = (value) => `${(100 * value).toFixed(1)} %`;
  const text = (value) => (value === null
    ? make("span", { className: "absent" }, "not here")
    : value === "" ? make("span", { className: "absent" }, "empty") : value);
  const MARKS = { D: "del", I: "ins" };

  function pieces(list, side) {
    const shown = [];
    for (const [kind, one, other] of list) {
      if (kind === (side ? "D" : "I")) continue;
      if (shown.length) shown.push(" ");
      if (kind === "=") shown.push(one);
      else if (kind === "S") shown.push(make("span", { className: "sub", title: side ? `for: ${one}` : `heard as: ${other}` }, side ? other : one));
      else shown.push(make(MARKS[kind], { title: side ? "inserted" : "left out" }, one));
    }
    return shown.length ? shown : [text("")];
  }

  const said = (row) => {
    const raw = row[2] === null ? [] : [make("div", { className: "raw", dir: "auto" }, row[2])];
    return [make("div", { dir: "auto" }, ...pieces(row[1], 1)), ...raw];
  };
  const COSTS = (at) => [
    { name: "Latency", show: (row) => milliseconds(row[at]), sort: (row) => row[at], kind: "number" },
    { name: "Energy", show: (row) => (row[at + 1] === null ? null : `${row[at + 1].toFixed(2)} J`), sort: (row) => row[at + 1], kind: "number" },
    { name: "Audio", show: (row) => (row[at + 2] === null ? null : `${row[at + 2].toFixed(1)} s`), sort: (row) => row[at + 2], kind: "number" },
  ];
  const KINDS = {
    edits: {
      columns: [
        { name: "Reference", show: (row) => pieces(row[1], 0), kind: "text" },
        { name: "Hypothesis", show: said, kind: "text" },
        { name: "CER", show: (row) => rate(row[3]), sort: (row) => row[3], kind: "number" },
        { name: "WER", show: (row) => rate(row[4]), sort: (row) => row[4], kind: "number" },
        ...COSTS(5),
      ],
      choices: { "All": () => true, "With errors": (row) => row[4] > 0, "Without errors": (row) => row[4] === 0 },
      find: (row) => row[1].flat().join(" ") + (row[2] ?? ""),
      raw: (row) => row[2] !== null,
    },
    grades: {
      columns: [
        { name: "Task", show: (row) => [row[1]] },
        { name: "Reference", show: (row) => [text(row[2])], kind: "text" },
        { name: "Reply", show: (row) => [text(row[3])], kind: "text" },
        { name: "Answer as read", show: (row) => [row[4] === null ? make("span", { className: "absent" }, "none") : row[4]], kind: "text" },
        { name: "Grade", show: (row) => [make("span", { className: `mark ${{ ok: "good", wrong: "bad" }[row[5]] ?? "warn"}` }, row[5] === "ok" ? "right" : row[5])], sort: (row) => row[5] },
        { name: "Rule", show: (row) => [row[6]], sort: (row) => row[6] },
        ...COSTS(7),
      ],
      choices: {
        "All": () => true,
        "Wrong": (row) => row[5] !== "ok",
        "Unparsable": (row) => row[5] === "unparsable",
        "Refused": (row) => row[5] === "refused",
        "Right": (row) => row[5] === "ok",
      },
      find: (row) => row.slice(1, 7).join(" "),
    },
    texts: {
      columns: [
        { name: "Reference", show: (row) => [text(row[1])], kind: "text" },
        { name: "Text", show: (row) => [text(row[2])], kind: "text" },
        ...COSTS(3),
      ],
      choices: { "All": () => true },
      find: (row) => `${row[1] ?? ""} ${row[2]}`,
    },
  };

  async function unpack(element) {
    const bytes = Uint8Array.from(atob(element.textContent), (sign) => sign.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
  }

  function cell(column, row) {
    const shown = column.show(row);
    const content = Array.isArray(shown) ? shown : [shown ?? ""];
    const options = { role: "cell", className: column.kind ?? "", "data-name": column.name };
    // Each text finds its direction by itself, whatever stands around it.
    if (column.kind === "text" && !content[0]?.dir) return make("td", options, make("div", { dir: "auto" }, ...content));
    return make("td", options, ...content);
  }

  class SampleTable {
    constructor(place, rows) {
      this.kind = KINDS[place.dataset.kind];
      this.rows = rows;
      // What no sample has a value for is no column.
      this.columns = this.kind.columns.filter((column) => rows.some((row) => column.show(row) !== null));
      this.start = 0;
      this.choice = make("select", {}, ...Object.keys(this.kind.choices).map((words) => make("option", {}, words)));
      this.words = make("input", { type: "search", placeholder: "id or text" });
      this.order = make("select", {}, make("option", { value: "" }, "Suite"));
      for (const [index, column] of this.columns.entries()) {
        if (!column.sort) continue;
        this.order.append(make("option", { value: index }, `${column.name}, ${column.kind === "number" ? "highest" : "A to Z"} first`));
      }
      this.body = make("tbody", { role: "rowgroup" });
      this.found = make("span", { className: "found", role: "status" });
      this.back = make("button", { type: "button" }, "Previous");
      this.on = make("button", { type: "button" }, "Next");
      place.append(...this.frame(place.dataset.kind === "edits"));
      for (const control of [this.choice, this.words, this.order]) {
        control.addEventListener("input", () => { this.start = 0; this.show(); });
      }
      this.back.addEventListener("click", () => this.turn(-PAGE));
      this.on.addEventListener("click", () => this.turn(PAGE));
      this.show();
    }

    frame(edits) {
      const controls = make("div", { className: "controls" },
        make("label", {}, "Show ", this.choice), make("label", {}, "Find ", this.words), make("label", {}, "Order ", this.order));
      if (this.kind.raw && this.rows.some(this.kind.raw)) {
        this.raw = make("input", { type: "checkbox" });
        this.raw.addEventListener("input", () => this.show());
        controls.append(make("label", {}, this.raw, " As the model wrote it, before normalisation"));
      }
      const heads = this.columns.map((column) => make("th", { scope: "col", role: "columnheader", className: column.kind === "text" ? "" : `small ${column.kind ?? ""}` }, column.name));
      const head = make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, make("th", { scope: "col", role: "columnheader", className: "small" }, "Sample"), ...heads));
      const legend = make("p", { className: "legend" },
        make("span", {}, make("del", {}, "left out")), make("span", {}, make("ins", {}, "inserted")), make("span", {}, make("span", { className: "sub" }, "substituted")));
      return [controls, ...(edits ? [legend] : []), make("div", { className: "scroll" }, make("table", { role: "table" }, head, this.body)),
        make("div", { className: "pager" }, this.back, this.on, this.found)];
    }

    turn(by) {
      this.start += by;
      this.show();
      this.body.closest("table").scrollIntoView({ block: "start" });
    }

    chosen() {
      const keep = this.kind.choices[this.choice.value], words = this.words.value.toLowerCase();
      const rows = this.rows.filter((row) => keep(row) && (!words || `${row[0]} ${this.kind.find(row)}`.toLowerCase().includes(words)));
      if (this.order.value === "") return rows;
      const column = this.columns[this.order.value];
      const worth = (row) => column.sort(row) ?? -Infinity;
      return rows.sort((one, other) => (column.kind === "number" ? worth(other) - worth(one) : worth(one).localeCompare(worth(other))));
    }

    show() {
      const rows = this.chosen();
      const page = rows.slice(this.start, this.start + PAGE);
      this.body.replaceChildren(...page.map((row) => make("tr", { role: "row" },
        make("th", { scope: "row", role: "rowheader" }, make("bdi", {}, row[0])), ...this.columns.map((column) => cell(column, row)))));
      for (const raw of this.body.querySelectorAll(".raw")) raw.hidden = !this.raw.checked;
      this.back.disabled = this.start === 0;
      this.on.disabled = this.start + PAGE >= rows.length;
      const some = rows.length ? `${this.start + 1} to ${this.start + page.length}` : "none";
      this.found.textContent = `${some} of ${rows.length}${rows.length < this.rows.length ? ` (${this.rows.length} in all)` : ""}`;
    }
  }

  for (const run of document.querySelectorAll("details.run")) {
    run.addEventListener("toggle", async () => {
      const place = run.querySelector(".samples"), packed = place?.querySelector("script");
      if (!run.open || !packed) return;
      packed.remove();
      try {
        new SampleTable(place, await unpack(packed));
      } catch (error) {
        place.append(make("p", { className: "banner" }, `The samples cannot be shown: ${error.message}. A browser of 2023 or later shows them.`));
      }
    });
  }
  openTarget();
})();
