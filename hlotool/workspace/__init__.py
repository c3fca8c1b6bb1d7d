"""Files as a project has them: settings, which files to work on, checking them, and writing them back.

What the command line and an editor server share. Nothing here prints or ends the process: failures are exceptions derived from `HlotoolError`,
or parts of the results.
"""
