// Package logfile reads the entries of a kubelet's log out of what people send each other: plain files, journalctl's text, its export
// format and its JSON, logs of containers as docker and CRI runtimes keep them, sections of `minikube logs`, lines that a supervisor
// wrapped, all of them also compressed with gzip.
//
// It owns those containers of logs; entries are read by package klog. What is missing is counted and said where it is missing: lines that a
// journal suppressed, values that were left out, a beginning that was cut. Anybody may have written what it reads: lines, entries and
// compressed data are bounded, and it reads in time proportional to the text. It runs no goroutine and publishes nothing.
package logfile
