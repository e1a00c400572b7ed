"""The collected report: every run, study and training of a piece of work as the chapters of one self-contained page."""
