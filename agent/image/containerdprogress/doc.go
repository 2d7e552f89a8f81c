// Package containerdprogress knows how far containerd has come with a pull.
//
// The CRI has no word for that. containerd's content service, on the same socket,
// lists the blobs that are being written; the image's manifest, which is there before
// its layers, says how many bytes they will be. Layers that were on the node before
// count neither as done nor as due.
//
// It never writes, never guesses (no manifest, no figures) and gives up at once on a
// runtime that has no such service. It runs no goroutine of its own; Follow runs in
// its caller's while a pull does. It publishes nothing.
package containerdprogress
