"""One file a step (or a family of steps). Each has ``LAYER`` and ``steps(situation)``; the planner loads the folder.

A step that a check of ours judges takes its state from that check's verdicts (``situation.verdicts``), so that a plan
and a report never disagree. What does not concern this machine gives no step at all.
"""
