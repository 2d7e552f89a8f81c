// Package config turns what a user wrote (the kubelet's flags, a KubeletConfiguration v1beta1 file and its drop-ins)
// into the values that the agent runs with.
//
// It owns: the flag names, strict decoding with file and line, merging (defaults, then file, then drop-ins in path
// order, then flags), defaults, validation, feature gates, the table of supported fields, and the search for a
// runtime's socket.
//
// [Load] does not stop at the first error: it reports every problem, each with its field path and, for a file, its
// line. It never ignores a field silently: [Config.NotActedOn] lists fields that are set but not supported. It changes
// nothing on the machine.
//
// It runs no goroutine and publishes no event.
//
// Intentional differences from upstream:
//   - Without --config the defaults are those of a config file (read-only port off, anonymous access off); upstream then
//     falls back to its older, open ones.
//   - containerRuntimeEndpoint has no default: [FindRuntime] searches for a runtime instead.
//   - failCgroupV1 is false by default: both cgroup versions are supported.
//   - An address in --node-ip that is not valid is an error; upstream ignores it.
//   - clusterDNS entries, bind addresses, eviction thresholds and reservations are checked here, with the rest.
package config
