// Command picture makes the README's pictures: it runs the demo on real containerd
// in a terminal of its own, presses keys, and writes what is on screen as SVG.
//
//	go run ./test/picture            # writes docs/img/*.svg; needs root and tmux
//
// It owns the files it writes and the tmux server it starts, which has a socket of its
// own. It runs no goroutine and publishes no events.
package main
