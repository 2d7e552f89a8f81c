// Package otlp receives the spans of a container runtime over OTLP (gRPC and HTTP), and publishes those that belong to one of our
// CRI calls, with the pod of this call.
//
// It owns two listeners, on loopback addresses only, and the recent calls and spans. It never changes a span's ids: the CRI client
// sends traceparent, so the runtime's spans are in the call's trace already. A span that belongs to no call of ours, or is outside
// the time of its call, is counted and dropped. Every user of this machine can connect. The kernel reports the user of a
// connection, and only connections of root and of this process's user are read. These are not trusted either: sizes, numbers, rates
// and depths are limited, and nothing is kept that does not match a call. Queries and passwords of addresses are removed.
//
// The package adds data that the runtime does not send: each run of a CNI plugin (package plugins) becomes a span cni.plugin.NAME
// of the service kubeloupe, below the call for the pod's sandbox.
//
// Watch is for a kubelet that is not ours. Its calls have other ids on the bus, so package merge finds the call of each span: Watch passes on
// spans of calls, and places what is below them once they are on the bus. It makes records of the kubelet's own spans, which are syncs of pods
// and runs of the garbage collection (pkg/kubelet/kubelet.go, images/image_gc_manager.go and kuberuntime/kuberuntime_gc.go of v1.37.1).
//
// Run follows the bus with one goroutine, which alone places spans, and has one more per listener and two for plugins; the servers
// have one per connection. It publishes trace.RuntimeSpan, each span once, and trace.Log where plugins cannot be watched, and about
// rejected connections and spans.
//
// # What containerd tells
//
// Of containerd 2.4.2, by its source and as seen with test/e2e's TestRuntimeSpans. It sends where
// OTEL_EXPORTER_OTLP_ENDPOINT (or _TRACES_ENDPOINT) is set; OTEL_EXPORTER_OTLP_PROTOCOL is grpc or
// http/protobuf, OTEL_BSP_SCHEDULE_DELAY (5 s unless set) is how long spans gather before they
// are sent, and the sampler follows our calls, which say that they are sampled.
//
//	RunPodSandbox    runtime.v1.RuntimeService/RunPodSandbox, in it cri.sandbox.run
//	  network        cni.setup_pod_network → cni.Setup → cni.asynchAttach, one for each network
//	                 configuration (cni.name, cni.ifname), all of them at once
//	  container      client.NewContainer (snapshot, spec, record)
//	  task           container.NewTask (starts the shim) → containerd.task.v3.Task/Create (runc
//	                 create), client.task.Start → containerd.task.v3.Task/Start
//	PullImage        runtime.v1.ImageService/PullImage
//	  resolve        remotes.docker.resolver.HTTPRequest with HEAD; a token is ...FetchToken
//	  manifests      pkg.unpack.unpacker.UnpackHandler, in it the GET
//	  layers         pkg.unpack.unpacker.unpack, in it for each layer ...fetchLayer and
//	                 ...unpackLayer, which begins with the wait for the layer's fetch
//	CreateContainer  client.NewContainer
//	StartContainer   container.NewTask, client.task.Start
//	StopPodSandbox   client.task.Kill, cni.Remove
//
// It does not tell: the making of the network namespace, which has no span of its own, but the event
// "setup pod network" of cri.sandbox.run comes right before it and the next metadata.sandbox.Update
// right after (package waterfall draws what is between); each CNI plugin of a network's chain, which
// go-cni and libcni do not trace (see above); the shim's start, which is container.NewTask before
// Task/Create; what a snapshot takes within client.NewContainer; runc's own steps. A shim built with
// the tag shim_tracing would tell its side of Task/Create and Task/Start too. Events of a span become
// attributes, event.NAME with the time since the span's start.
package otlp
