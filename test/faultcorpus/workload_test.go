package faultcorpus_test

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// workload is the class of the faults of the pod's own: its probes, its containers, its configuration, its admission.
const workload = "workload"

func workloadFaults() []fault {
	return slices.Concat(probeFaults(), startFaults(), memoryFaults(), exitFaults(), objectFaults(), securityFaults(), admissionFaults(), heldFaults())
}

// once is a pod of one container that is not restarted.
func (s *scene) once(script string) *v1.Pod {
	p := s.runs("web", script)
	p.Spec.RestartPolicy = v1.RestartPolicyNever
	return p
}

// prepared is a pod whose init container runs a script, and whose app container then runs a command. They share /work.
func (s *scene) prepared(script string, command ...string) *v1.Pod {
	p := s.initial(script)
	p.Spec.Containers[0].Command = command
	p.Spec.Volumes = []v1.Volume{{Name: "work", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	mounts := []v1.VolumeMount{{Name: "work", MountPath: "/work"}}
	p.Spec.InitContainers[0].VolumeMounts, p.Spec.Containers[0].VolumeMounts = mounts, mounts
	podspec.SetDefaults(p)
	return p
}

// phase waits until a pod's status has a phase.
func (s *scene) phase(pod string, want trace.PodPhase) {
	s.t.Helper()
	s.until(pod+" "+string(want), func(r *trace.Record) bool {
		st, ok := r.Event.(*trace.PodStatus)
		return ok && r.Pod.Name == pod && st.Phase == want
	})
}

// rejected waits until the agent has rejected a pod.
func (s *scene) rejected(pod string) {
	s.t.Helper()
	s.until("the rejection of "+pod, func(r *trace.Record) bool {
		d, ok := r.Event.(*trace.Decision)
		return ok && r.Pod.Name == pod && d.By == trace.ByAdmission && d.Verdict == trace.VerdictReject
	})
}
