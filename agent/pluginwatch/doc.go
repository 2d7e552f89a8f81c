// Package pluginwatch registers plugins that create a socket in the kubelet's plugin registry, such as volume drivers.
//
// It owns the list of sockets and of registered plugins. A [Handler] uses the plugin, by the type that the plugin reports. The
// package calls only the plugin's registration service, and never removes a socket.
//
// Goroutines: Run is the loop; inotify has a reader; each socket has at most one registration in progress; at most 64 lookups of symbolic
// links hang.
//
// It publishes a Decision for each plugin that is registered, refused or gone.
//
//	         socket appears            GetInfo, handler, notify
//	(absent) ──────────────▶ pending ──────────────────────────▶ registered
//	   ▲                      ▲   │ error: back-off                  │ socket is another one
//	   │                      └───┴──────────────────────────────────┤ (deregistered, then pending)
//	   └──────────────────────────────── socket is gone ◀────────────┘ (deregistered)
//
// Upstream: pkg/kubelet/pluginmanager.
package pluginwatch
