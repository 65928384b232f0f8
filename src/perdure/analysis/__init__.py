"""What a run means: answers counted, compared and priced. Reads the record only, writes nothing.

Every figure carries its denominator. What could not be measured is absent with a reason; it is
never zero.
"""
