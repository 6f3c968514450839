# SPDX-License-Identifier: MIT
"""The building blocks of the system tests, one noun per file. None of them depends on a test."""
