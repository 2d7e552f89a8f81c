// Command picture makes the pictures of the documentation: it runs the agent as the node of the lab's
// cluster, in a terminal of its own, starts pods of which some cannot start, presses keys, and writes what is on
// screen as SVG. Then it attaches, steps a pod, asks why, and replays the recording of it all.
//
//	go run ./test/picture             # writes docs/img/*.svg; needs Linux, root and tmux
//	go run ./test/picture -only pod   # only pictures whose names begin so
//	go run ./test/picture -gallery docs/img/gallery   # all views in all sizes and looks, and a moving picture, from recordings: needs tmux alone
//
// The cluster is one of its own, in a temporary directory, and is taken down again. A network namespace
// holds one cluster at most: see docs/lab.md.
//
// It owns the files it writes, the cluster, and the tmux servers it starts, which have sockets of their
// own. It runs no goroutine and publishes no events.
package main
