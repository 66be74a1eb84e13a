"""PARSA-Bench: sixteen Persian audio tasks, asked of audio-language models under five conditions.

What the paper leaves open is a setting of the declaration, each with its provenance. The data are gated: they are
read from a user's own copy by `prepare`, and never come with this package. One ladder reads the answers, and each kind
of task has the figures of its field; a refusal and a reply without an answer are wrong and stay in the denominator.
"""
