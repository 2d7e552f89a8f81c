// Package guard keeps a kubelet's endpoint where its calls are answered: at a proxy while that runs, else at the runtime itself.
//
// The endpoint is a symbolic link, which the kubelet follows each time it connects. Two processes watch each other: the one that runs
// [Guard.Run], and the relay, which it starts and which has a [Ward]. Whichever ends, also by SIGKILL, or is not heard of, the other one
// turns the link to the runtime's socket. If both are killed at one moment nobody is left to do so: a unit's ExecStopPost does.
//
// It owns the link and the relay's process. It never touches the runtime's socket, and never replaces what is not a link. A Guard runs
// two goroutines per relay, a Ward two. It publishes nothing.
package guard
