package main

import "golang.org/x/sys/unix"

// unread asks a terminal how many bytes it holds.
const unread = unix.TIOCINQ
