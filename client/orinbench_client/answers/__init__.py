"""The answer in a reply of free text. One ladder of rules for every task; which rung held is recorded by name.

1. What a model thinks aloud (``<think>…</think>``) is dropped.
2. The ``answer`` of a JSON object, or else what follows the last ``Answer:`` or ``پاسخ:``, is the answer, if there is
   such a thing: nothing else in the reply counts then.
3. A closed set: the text is a label or one of its other names; a letter or number of an option; it begins with a
   label; it holds the words of one label and none that only others have; its numbers lie in one label's range. Who
   lists several has chosen none.
4. Entities: a JSON list, MASSIVE's ``[type : value]``, or the word for none.
5. Free text: what is left after a code fence, a lead-in such as ``Transcript:`` and quotation marks.
6. What holds no answer is a refusal, if it says so in English or Persian, and unparsable otherwise. In free text only
   words about audio or about being a model refuse.
"""

from orinbench_client.answers.closed import ClosedSet, Label, read_closed
from orinbench_client.answers.entities import Entity, read_entities
from orinbench_client.answers.folding import fold
from orinbench_client.answers.free import read_free
from orinbench_client.answers.reading import Reading
from orinbench_client.answers.refusals import refusal_in

#: The rules of this package as a whole: another rule is another name.
LADDER = "ladder-2"

__all__ = [
    "LADDER",
    "ClosedSet",
    "Entity",
    "Label",
    "Reading",
    "fold",
    "read_closed",
    "read_entities",
    "read_free",
    "refusal_in",
]
