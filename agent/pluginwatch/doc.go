// Package pluginwatch registers plugins that put a socket into the kubelet's plugin registry, as
// drivers of volumes do.
//
// It owns which sockets there are and which of them are registered. What a plugin is for is a
// [Handler]'s, by the type that the plugin says it is. It never calls anything but the plugin's
// registration service, and never removes a socket.
//
// Goroutines: Run is the loop; inotify has a reader; each socket has at most one registration under
// way.
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
