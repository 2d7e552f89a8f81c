package podobject

import (
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/inspect/attach/kubeevent"
	"github.com/kubeloupe/kubeloupe/trace"
)

// maxListed bounds the containers and volumes that are taken of a spec.
const maxListed = 64

// Name is a pod's identity.
func Name(pod *v1.Pod) trace.Pod { return kubeevent.Name(pod.Namespace, pod.Name, UID(pod)) }

// UID is the one by which the kubelet and its runtime know a pod: that of a static pod is in an annotation of its mirror, the object in the
// API. Upstream: pkg/kubelet/pod/mirror_client.go.
func UID(pod *v1.Pod) string {
	return UIDOf(string(pod.UID), pod.Annotations[v1.MirrorPodAnnotationKey])
}

// UIDOf is UID by an object's UID and that annotation. Whoever creates pods may write it.
func UIDOf(own, mirror string) string {
	if mirror == "" || len(mirror) > maxUID {
		return own
	}
	return mirror
}

// maxUID is how long a static pod's UID may be: the kubelet makes 32 digits, a manifest may have another one.
const maxUID = 64

// isMirror reports whether an object is the mirror of a static pod.
func isMirror(pod *v1.Pod) bool { return UID(pod) != string(pod.UID) }

// Spec is what views and causes need of a pod's spec.
func Spec(pod *v1.Pod) *trace.PodSpec {
	in := &pod.Spec
	s := &trace.PodSpec{
		RestartPolicy: trace.RestartPolicy(in.RestartPolicy), QoS: trace.QoSClass(pod.Status.QOSClass), HostNetwork: in.HostNetwork,
		Finalizers: kubeevent.Clean(strings.Join(pod.Finalizers, ","), 1024), ReadinessGates: len(in.ReadinessGates),
		Containers: containers(in.Containers), InitContainers: containers(in.InitContainers),
	}
	if in.Resources != nil {
		s.MemoryLimit = in.Resources.Limits.Memory().Value()
	}
	if in.TerminationGracePeriodSeconds != nil {
		s.Grace = *in.TerminationGracePeriodSeconds
	}
	s.Objects, s.Clipped = Objects(pod.Name, in)
	for i := range in.Volumes[:min(len(in.Volumes), maxListed)] {
		s.Volumes = append(s.Volumes, kubeevent.Clean(in.Volumes[i].Name, 253))
	}
	return s
}

func containers(all []v1.Container) (out []trace.ContainerSpec) {
	for i := range all[:min(len(all), maxListed)] {
		in := &all[i]
		c := trace.ContainerSpec{
			Name: kubeevent.Clean(in.Name, 253), Image: kubeevent.Clean(in.Image, 512),
			MemoryLimit: in.Resources.Limits.Memory().Value(),
			Sidecar:     isSidecar(in),
		}
		for _, p := range []struct {
			kind trace.ProbeKind
			*v1.Probe
		}{{trace.ProbeStartup, in.StartupProbe}, {trace.ProbeReadiness, in.ReadinessProbe}, {trace.ProbeLiveness, in.LivenessProbe}} {
			if p.Probe != nil {
				c.Probes = append(c.Probes, probe(p.kind, p.Probe))
			}
		}
		out = append(out, c)
	}
	return out
}

func probe(kind trace.ProbeKind, in *v1.Probe) trace.ProbeSpec {
	p := trace.ProbeSpec{
		Probe: kind, Delay: seconds(in.InitialDelaySeconds), Period: seconds(in.PeriodSeconds), Timeout: seconds(in.TimeoutSeconds),
		Success: int(in.SuccessThreshold), Failure: int(in.FailureThreshold),
	}
	switch h := in.ProbeHandler; {
	case h.Exec != nil:
		p.How = trace.ProbeExec
	case h.HTTPGet != nil:
		p.How = trace.ProbeHTTP
	case h.TCPSocket != nil:
		p.How = trace.ProbeTCP
	case h.GRPC != nil:
		p.How = trace.ProbeGRPC
	}
	return p
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }
