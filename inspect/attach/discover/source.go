package discover

import (
	"fmt"
	"strconv"
)

// The names of sources.
const (
	SourceKubeletLog = "kubelet log"
	SourceRuntimeLog = "runtime log"
	SourceRuntime    = "runtime socket"
	SourceSpans      = "runtime spans"
	SourceTracing    = "kubelet spans"
	SourcePods       = "PodsAPI"
	SourceResources  = "podresources"
	SourceAPI        = "kubelet API"
	SourceAPIServer  = "API server"
)

// Source is something that a kubelet can be seen by.
type Source struct {
	Name string
	// There says that it can be read.
	There bool
	// Where it is, what it Gives, what is Missing and how to get it.
	Where, Gives string
	Missing      string `json:",omitempty"`
}

// sourcesOf says of each source what it gives here.
func sourcesOf(v View, f *Found) []Source {
	return []Source{
		f.logSource(), f.runtimeLogSource(), f.runtimeSource(), f.spansSource(), f.tracingSource(), f.podsSource(), f.resourcesSource(), f.apiSource(), f.apiServerSource(), f.kernelSource(v),
	}
}

func (f *Found) logSource() Source {
	s := Source{Name: SourceKubeletLog, Where: f.Log.String()}
	switch f.Log.Kind {
	case LogJournal, LogFile:
		s.There = true
	case LogPipe:
		s.Missing = "its standard error is a pipe, which only one program can read"
		if f.Log.Through != nil {
			s.Missing += fmt.Sprintf(": process %d (%s)", f.Log.Through.PID, f.Log.Through.Comm)
		}
		s.Missing += "; if that writes a file, name it with --kubelet-log FILE"
		return s
	case LogTerminal:
		s.Missing = "it goes to a terminal; start the kubelet as a unit, or with its standard error in a file"
		return s
	case LogNowhere:
		s.Missing = "it is thrown away; start the kubelet with its standard error in a file or the journal"
		return s
	case LogUnknown:
		s.Missing = "where it goes is not known; name a file with --kubelet-log FILE"
		return s
	}
	v := f.Config.Verbosity
	s.Where += ", V" + strconv.Itoa(v)
	if !f.Config.VerbosityKnown {
		s.Where += " or more"
	}
	switch {
	case v < 2:
		s.Gives = "errors of pods' syncs; starts only as the kubelet summarizes them"
	case v == 2:
		s.Gives = "when pods are seen and deleted, mounts of volumes; starts and ends of containers to 1 s"
	case v == 3:
		s.Gives = "the same, Kubernetes Events (pulls, creating and starting of containers), waits for volumes"
	default:
		s.Gives = "the whole start and end of a pod: volumes, sandbox, pulls, containers, the passes of its worker"
	}
	if v < 4 {
		s.Missing = "sandboxes and the passes of workers are written from V4 on: the setting is logging.verbosity"
	}
	return s
}

func (f *Found) runtimeLogSource() Source {
	r := &f.Runtime
	s := Source{Name: SourceRuntimeLog, Gives: "begin and end of each sandbox, pull and container call, to some ms"}
	switch {
	case r.Process == nil:
		s.Where, s.Gives, s.Missing = r.Endpoint, "", r.Trouble
	case r.Log.Kind == LogJournal || r.Log.Kind == LogFile:
		s.There, s.Where = true, r.Log.String()
		if r.Name == "cri-o" {
			s.Gives = "begin and end of each sandbox, pull and container call that succeeds, runs of CNI plugins, to some ms"
			s.Missing = "errors of calls and exits of containers are written at CRI-O's level debug: the setting is log_level"
		}
	default:
		s.Where, s.Gives, s.Missing = r.Log.String(), "", "it cannot be read there; if it is also in a file, name that with --runtime-log FILE"
	}
	return s
}

func (f *Found) runtimeSource() Source {
	r := &f.Runtime
	s := Source{Name: SourceRuntime, Where: r.Endpoint, Gives: "the sandboxes and containers that are there (read-only lists)"}
	if r.Name == "containerd" {
		s.Gives += "; containerd's events: exits, kills for lack of memory, tasks, layers of images"
	}
	if s.There = r.Process != nil; !s.There {
		s.Gives, s.Missing = "", r.Trouble
	}
	return s
}

// spansSource is what containerd tells of its calls itself, where it is set up to send that to attach.
func (f *Found) spansSource() Source {
	r := &f.Runtime
	s := Source{Name: SourceSpans}
	switch {
	case r.Process == nil:
		s.Missing = r.Trouble
	case r.Name != "containerd":
		s.Missing = "only containerd's spans are known"
	case r.SpansTo != "":
		s.There, s.Where = true, "sent to "+r.SpansTo
		s.Gives = "the parts of each call: CNI, task, each layer of a pull; with attach --otlp-http ADDRESS (--otlp-grpc if its protocol is gRPC), if that is this address"
	default:
		s.Missing = "containerd sends none. With OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318, OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf and " +
			"OTEL_BSP_SCHEDULE_DELAY=1000 in its environment, a restart of it (containers continue) and attach --otlp-http 127.0.0.1:4318, it tells the parts of each call"
	}
	return s
}

// tracingSource is what the kubelet tells of its own work, where it is set up to send that to attach.
func (f *Found) tracingSource() Source {
	if f.Config.Tracing == "" {
		return Source{Name: SourceTracing, Missing: "the kubelet sends none. With tracing: {endpoint: \"127.0.0.1:4317\", samplingRatePerMillion: 1000000} in its configuration, " +
			"a restart of it (pods continue) and attach --otlp-grpc 127.0.0.1:4317, it tells each sync of a pod at any verbosity"}
	}
	return Source{
		Name: SourceTracing, There: true, Where: "sent to " + f.Config.Tracing,
		Gives: "each sync of a pod, at any verbosity, and begins and ends of calls; with attach --otlp-grpc ADDRESS, if that is this address",
	}
}

func (f *Found) podsSource() Source {
	s := Source{Name: SourcePods, Where: f.PodsAPI, There: f.PodsAPI != "", Gives: "changes of pods' statuses, within some ms; their specs (probes, containers, grace period)"}
	if !s.There {
		s.Gives, s.Missing = "", "there is no socket: Kubernetes 1.37 and later have it, 1.36 with the feature gate PodsAPI"
	}
	return s
}

func (f *Found) apiSource() Source {
	s := Source{Name: SourceAPI, Where: fmt.Sprintf("port %d", f.Config.Port)}
	const gives = "every 3 s, calls to the runtime and relists that took long (metrics), the syncLoop's health"
	switch at := f.ReadOnly(); {
	case f.Rights != nil && f.Config.Port != 0:
		s.There, s.Gives = true, gives+"; the settings in use; "
		if !f.Rights.InCluster { // deploy/attach/api leaves nodes/proxy out
			s.Gives += "the verbosity can be raised; "
		}
		s.Gives += "with the credentials of " + f.Rights.Who
	case at != "":
		s.There, s.Where, s.Gives = true, at+" (read-only)", gives
	default:
		s.Missing = "no credentials for it were found on this node (workers have none: the kubelet's own identity may not use it); " +
			"name some with --kubelet-kubeconfig FILE: get of nodes/metrics, nodes/configz and nodes/healthz, before Kubernetes 1.33 of nodes/proxy"
	}
	if s.There && f.PodsAPI == "" && f.Access == nil {
		s.Gives += "; pods, their specs and statuses"
	}
	return s
}
