// Package kubeletpoll asks a kubelet that is not ours from time to time what it says of itself: its settings in use, its health, its metrics
// and, where nobody else shows them, its pods.
//
// It owns how often it asks, and what follows from two answers: a call to the runtime or a relist that took long. A histogram says how long
// something took and not when: a record has only the time that is sure. Package kubeletapi makes the requests, package podobject says what is
// taken of pods. The kubelet writes what it reads. It runs no goroutine and publishes nothing.
package kubeletpoll
