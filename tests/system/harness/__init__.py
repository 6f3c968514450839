# SPDX-License-Identifier: MIT
"""What the system tests are built of: one noun a file. None of it knows a test."""
