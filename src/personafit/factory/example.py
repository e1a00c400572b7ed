"""The config that `personafit build --example` writes: small, commented, and done on the embedded default as it is."""

EXAMPLE = """\
# What `personafit build` makes a benchmark from. Every key is optional; each section brings the steps that it is about.

[build]
name = "my-benchmark"
seed = 1                  # the same seed, config and models make the same benchmark
languages = ["en"]        # "en", "zh", or both in turn
# budget = 5.0            # USD that one command may spend; --budget says otherwise

[models]                  # specs as everywhere: embedded, openai:MODEL@URL,price=IN/OUT, ...
writer = "embedded"       # writes people and memories
# checker = "..."         # says what does not hold together; the writer if left out
# profiler = "..."        # infers features from memories; the writer if left out
# answerers = ["...", "..."]   # one to four models that answer
# raters = ["...", "..."]      # models that vote as simulated raters; our own simulated raters if left out

[people]
quota = 3                 # people of the benchmark
training = 0              # further people for training pairs, none of them in the benchmark
asks = "fields"           # a strong writer does "whole": one ask for a whole profile
fields = ["Social"]       # what the writer puts into words; the rest stays as drawn
max_share = 0.67          # most people of one field of work, region or decade of age
max_interest_share = 0.75

[memories]
per_person = 2
corpora = []              # your own JSONL (with "text") or text files; empty lets the writer write
asks = "one"              # a strong writer does "whole": all of a person's memories in one ask
sampled = 2               # of these the profiler infers
features = 1

[questions]
specific = 2              # from each person's features
general = 0               # from a pool, matched to each person
asks = "short"            # a strong writer does "whole"

[answers]
words = 30
bearing = "words"         # which features bear on a question: by shared words, or by "embedding"
asks = "short"            # where the model fails, our templates stand in; a strong model does "whole"
tries = 2                 # a small model is asked for these; templates make the rest
improved = 2              # of each question's answers so many are made better
degraded = 2              # and so many worse

[studies]
voters = "simulated"      # "people" writes studies for the labelling app and waits for their votes
raters = 9
pairs = 3                 # for each question
validation = 0.34         # share of the people set apart

# [tasks]                 # preferences, histories and things to get done, for `personafit run personalens`
# domains = [5, 8]        # fewest and most domains one person cares about
# single = 6              # most tasks over one domain for each person
# multi = 2               # most tasks over several
# templates_only = true   # no model is asked; a strong writer does without

# [pairs]                 # training pairs for the people of `training` above, which must be 1 or more
# per_person = 2          # questions for each of them
# hard = 1                # harder negatives for each question: wrong person, over-personalized, degraded
# mix = "helpsteer2.jsonl"   # rated answers, mixed in
# exclude = ["other-benchmark"]   # nobody of these may be trained on
"""
