"""Persian sentences for the demo: templates over `lexicon.LEXICON`, and the splits drawn from them.

A slot is `{category}`, or `{category:e}` where an ezafe follows that may have to be written. The fillers of
one sentence differ.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from build_demo.lexicon import LEXICON

ZWNJ = "\N{ZERO WIDTH NON-JOINER}"
_SLOT = re.compile(r"\{(\w+)(:e)?\}")

TEMPLATES: tuple[str, ...] = (
    "{person} {day} به {place} رفت",
    "{person} هر روز به {place} می‌رود",
    "{person} با {ride} به {place} می‌رود",
    "{group} {day} از {place} برگشتند",
    "{person} {day} {number} کیلو {kilo} خرید",
    "{this_period} قیمت {kilo} {trend}",
    "این {fruit} خیلی {taste} است",
    "{kin} برای {meal} {dish} درست کرد",
    "{person} {drink} نوشید",
    "{person} {text} را {reading_manner} خواند",
    "این {work} درباره‌ی {topic} است",
    "امروز هوای {city} {weather} است",
    "هوای {city} {next_day} {weather} خواهد بود",
    "{season} {city} {season_quality} است",
    "{departing} {city} ساعت {hour} {day_part} حرکت می‌کند",
    "به دلیل {cause} {trip} {city} {delay}",
    "{person} {period} با {vehicle} به {city} رفت",
    "{group} {period} به {city} سفر کردند",
    "{person} {next_day} از {city} برمی‌گردد",
    "{person} از {city} آمده است و در {place} کار می‌کند",
    "ما {period} کنار {nature} چادر زدیم",
    "{group} تا نزدیکی {nature} پیاده رفتند",
    "{group} {day} از {sight} دیدن کردند",
    "{pet:e} {fur} {pet_spot} {posture}",
    "{person} یک {garment} {color} خرید",
    "برای {kin} یک {garment} {color} خریدم",
    "{thing} {kin} {spot} است",
    "{person} {thing} خود را در {place} جا گذاشت",
    "روی میز {number} {tableware} و {number} {tableware} گذاشتیم",
    "{name} در دانشگاه {city} {study} می‌خواند",
    "{person} {number} سال است که {study} درس می‌دهد",
    "{person} {number} سال است که {instrument} می‌نوازد",
    "{players} در {field} {sport} بازی می‌کنند",
    "تیم {sport} {city} بازی را {team_result}",
    "باید {deadline} {task}",
    "قصد دارم {deadline} {task}",
    "{day} یادم رفت {task}",
    "{person} می‌گوید {clause}",
    "{day} {deed}",
    "{kin} {job} است و در {city} کار می‌کند",
    "خانه‌ی {person} {feature} دارد",
    "{person} سرما خورده است و {cold_effect}",
    "اگر {next_day} {condition} {plan}",
    "{person} به {hobby} علاقه‌ی زیادی دارد",
    "{person} {weekdays} به کلاس {hobby} می‌رود",
    "مدیر {company} گفت {statement}",
    "جلسه‌ی {weekday} ساعت {hour} در {room} برگزار می‌شود",
    "کلاس {study} {weekdays} در {classroom} برگزار می‌شود",
    "چرا {that_day} به {place} نیامدی",
    "آیا {person} {next_day} به {place} می‌آید",
    "ببخشید نزدیک‌ترین {nearby} کجاست",
    "از {place} تا {place} {number} دقیقه راه است",
    "{person} {duration} در {place} منتظر ماند",
    "{person} در {garden} {plant} کاشته است",
    "صدای {sound} از {source} می‌آمد",
    "{person} برای تولد {kin} {gift} خرید",
    "{day} از {medium} {news} شنیدیم",
    "{please} {request}",
)


SEED = 7


@dataclass(frozen=True)
class Sentence:
    """A reference text, and whether it has a word that no training sentence has."""

    text: str
    unseen_words: bool


@dataclass(frozen=True)
class Splits:
    """Disjoint lists of sentences; `valid` guides choices, `heldout` and `demo` are measured at the end."""

    train: tuple[Sentence, ...]
    valid: tuple[Sentence, ...]
    heldout: tuple[Sentence, ...]
    demo: tuple[Sentence, ...]


def ezafe(phrase: str) -> str:
    """The phrase with its ezafe, written only after a vowel: ی after ا and و, ZWNJ and ی after a silent ه."""
    if phrase.endswith(("ا", "و")):
        return phrase + "ی"
    if phrase.endswith("ه") and not phrase.endswith(("اه", "وه")):
        return phrase + ZWNJ + "ی"
    return phrase


def _fill(template: str, rng: random.Random, held_slot: int | None) -> str:
    """Fill each slot with a training phrase, slot number `held_slot` with a held-out one."""
    used: set[str] = set()
    slots = iter(range(template.count("{")))

    def choose(match: re.Match[str]) -> str:
        category = LEXICON[match[1]]
        choices = category.held if next(slots) == held_slot else category.train
        phrase = rng.choice([choice for choice in choices if choice not in used])
        used.add(phrase)
        return ezafe(phrase) if match[2] else phrase

    return _SLOT.sub(choose, template)


def _held_slots(template: str) -> list[int]:
    return [i for i, match in enumerate(_SLOT.finditer(template)) if LEXICON[match[1]].held]


def _sentences(rng: random.Random, unseen_words: bool) -> Iterator[Sentence]:
    """Sentences without end, every template equally often; they repeat."""
    templates = [t for t in TEMPLATES if _held_slots(t)] if unseen_words else TEMPLATES
    while True:
        template = rng.choice(templates)
        held_slot = rng.choice(_held_slots(template)) if unseen_words else None
        yield Sentence(_fill(template, rng, held_slot), unseen_words)


def demo_splits() -> Splits:
    """The splits the published models were trained and measured on."""
    return make_splits(SEED, train=4000, valid=200, heldout=400, demo=40)


def make_splits(seed: int, train: int, valid: int, heldout: int, demo: int) -> Splits:
    """Draw disjoint splits of the given sizes; in all but `train` every second sentence has unseen words."""
    rng = random.Random(seed)
    taken: set[str] = set()
    train_split = tuple(_take(train, _sentences(rng, unseen_words=False), taken))
    known = vocabulary(train_split)

    def usable(unseen_words: bool) -> Iterator[Sentence]:
        return (s for s in _sentences(rng, unseen_words) if unseen_words != (set(s.text.split()) <= known))

    def mixed(count: int) -> tuple[Sentence, ...]:
        halves = (_take(count // 2, usable(unseen_words), taken) for unseen_words in (False, True))
        return tuple(sentence for pair in zip(*halves, strict=True) for sentence in pair)

    return Splits(train=train_split, demo=mixed(demo), heldout=mixed(heldout), valid=mixed(valid))


def _take(count: int, source: Iterator[Sentence], taken: set[str]) -> list[Sentence]:
    """The next `count` sentences of the source that are not in `taken`, which they join."""
    found: list[Sentence] = []
    while len(found) < count:
        sentence = next(source)
        if sentence.text not in taken:
            taken.add(sentence.text)
            found.append(sentence)
    return found


def vocabulary(sentences: tuple[Sentence, ...]) -> set[str]:
    """The distinct words (split at spaces) of the sentences."""
    return {word for sentence in sentences for word in sentence.text.split()}
