#!/bin/sh
# The tests use sudo, and are root.
exec "$@"
