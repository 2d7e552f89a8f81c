// Package klog reads what klog writes, the log library of Kubernetes: its text format and its JSON.
//
// It owns the format of one entry: header, message, keys and values, also values of several lines. It knows nothing of what messages mean,
// nor of the files and journals that entries are in. Logs come from elsewhere, and the texts in them from registries, plugins and
// containers: anybody may have written them. So every length, count and depth is bounded, reading takes time in proportion to the text, and
// characters that could act on a terminal are written out. It keeps no state, runs no goroutine and publishes nothing.
package klog
