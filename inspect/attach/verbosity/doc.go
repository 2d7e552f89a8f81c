// Package verbosity raises the verbosity of a kubelet that is not ours for a while, and puts it back however that ends.
//
// It owns the calls to the kubelet's API (/configz, /debug/flags/v) and the watchdog: a process of its own that is armed before the
// verbosity is raised. It puts the old value back when the time is over, when whoever raised it ends, also by SIGKILL, and when it is
// itself told to end. It tries until the kubelet answers. Only the watchdog's own SIGKILL leaves the value raised, until the kubelet
// starts again.
//
// The kubelet's serving certificate must be one of the files in its certificate directory, which root writes: whoever else listens on its
// port gets no request. Raise runs the watchdog's process; nothing is published.
package verbosity
