// Package config turns what a user wrote (the kubelet's flags, a KubeletConfiguration v1beta1 file and its drop-ins)
// into the values that the agent runs with.
//
// It owns: the flag names, strict decoding with file and line, merging (defaults, then file, then drop-ins in path
// order, then flags), defaults, validation, feature gates, the table of which fields this build acts on, and the search
// for a runtime's socket.
//
// It never keeps the first error to itself: [Load] reports every problem that it can find, each with its field path and,
// where it came from a file, its line. It never ignores a field silently: one that is set but not acted on is listed in
// [Config.NotActedOn]. It changes nothing on the machine.
//
// It runs no goroutine and publishes no event.
//
// Where it differs from upstream on purpose:
//   - Without --config the defaults are those of a config file (read-only port off, anonymous access off); upstream then
//     falls back to its older, open ones.
//   - containerRuntimeEndpoint has no default: [FindRuntime] looks for a runtime instead.
//   - failCgroupV1 is false by default: both cgroup versions are supported.
//   - clusterDNS entries, bind addresses, eviction thresholds and reservations are checked here, with the rest.
package config
