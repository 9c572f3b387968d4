"""A study: what all agree on, what a site makes of its data, what the coordinator makes of the sum.

Pure and portable: nothing here touches locks, processes or a participant's folder.
"""
