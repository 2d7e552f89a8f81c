// Package script simulates the processes of simulated containers. It supports the parts of a shell and of busybox that
// commands in pod manifests typically use: lists, &&, ||, !, &, wait, if, while, until, for, trap, variables,
// $(command), $((arithmetic)), output redirection, and a table of small programs (echo, sleep, cat, test, ...).
// mvdan.cc/sh parses a script as POSIX shell and expands words; this package implements the commands.
//
// One rule applies to everything else: a name in the list of programs that exit immediately does nothing and succeeds;
// any other name is a program that runs until it is stopped. Pipelines, subshells in parentheses, functions, case, here
// documents and features of bash are not simulated: such a script writes this to its standard error and runs until it
// is stopped. ${name:-word} expands word even where name is set.
//
// The author of the pod wrote the script, so all its resources are limited: its length, the nesting of shells, the
// arguments of a command, variables, files, background jobs, patterns. An iteration of an empty loop takes 10 ms.
// Expansion sees the container's variables and files, never those of the host, nor the host's users.
//
// Signals follow the kernel's rules, if they are relevant to a pod: the first process of a PID namespace ignores
// signals that it does not handle, a trap runs after the current command, and only wait is interrupted.
//
// The package owns no files: a script's files are in memory (Files), except for paths that the caller maps to a host
// path. It never runs a program of the host. Process.Run runs on the caller's goroutine; each background job (&) of a
// script has one more, and Run returns after the last of them. It publishes no events.
package script
