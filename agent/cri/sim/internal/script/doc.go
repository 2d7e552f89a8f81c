// Package script imitates the processes of simulated containers. It understands enough of a shell and of busybox for
// the commands that pod manifests are written with: lists, &&, ||, !, &, wait, if, while, until, for, trap, variables,
// $(command), $((arithmetic)), output redirection, and a table of small programs (echo, sleep, cat, test, ...).
// mvdan.cc/sh parses a script, as POSIX has it, and expands words; what the commands do is here.
//
// Everything else falls back to one rule. A name in the list of programs that finish at once does nothing and
// succeeds; any other name is a program that runs until it is stopped. Pipelines, subshells in parentheses, functions,
// case, here documents and what only bash knows are not simulated: such a script says so on its standard error and runs
// until it is stopped. ${name:-word} expands word even where name is set.
//
// Who made the pod wrote the script, so that all it can take is bounded: its length, how deep shells are nested, the
// arguments of a command, variables, files, background jobs, patterns. A loop that does nothing takes 10 ms for a turn.
// Expansion sees the container's variables and files, never those of the host, nor the host's users.
//
// Signals follow the kernel's rules, as far as they matter to a pod: the first process of a PID namespace ignores
// signals that it does not handle, a trap runs when the current command has ended, and only wait is interrupted.
//
// The package owns no files: what a script writes stays in memory (Files), except for paths that the caller maps to a
// host path. It never runs a program of the host. Process.Run runs on the caller's goroutine; each background job (&) of
// a script has one more, and Run returns after the last of them. It publishes no events.
package script
