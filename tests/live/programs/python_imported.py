# SPDX-License-Identifier: MIT
"""Spins while it is imported."""
import python_shapes

python_shapes.spin()
