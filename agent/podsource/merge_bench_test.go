package podsource

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// BenchmarkMerge is a new status of one of a hundred pods.
func BenchmarkMerge(b *testing.B) {
	var pods []*v1.Pod
	for i := range 100 {
		pods = append(pods, aPod(fmt.Sprint("pod", i), fmt.Sprint("uid", i)))
	}
	// As the API server has it: with a token, tolerations and a container with probes.
	pods[0].Spec = v1.PodSpec{
		NodeName: "n1", ServiceAccountName: "default", RestartPolicy: v1.RestartPolicyAlways, DNSPolicy: v1.DNSClusterFirst,
		SecurityContext: &v1.PodSecurityContext{}, SchedulerName: "default-scheduler", Priority: new(int32(0)), PreemptionPolicy: new(v1.PreemptLowerPriority),
		Tolerations: []v1.Toleration{{Key: "node.kubernetes.io/not-ready", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))}},
		Containers: []v1.Container{{
			Name: "web", Image: "web:1", Env: []v1.EnvVar{{Name: "A", Value: "b"}}, Ports: []v1.ContainerPort{{ContainerPort: 80, Protocol: v1.ProtocolTCP}},
			VolumeMounts:  []v1.VolumeMount{{Name: "token", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}},
			LivenessProbe: &v1.Probe{PeriodSeconds: 10, ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/"}}},
		}},
		Volumes: []v1.Volume{{Name: "token", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{
			Sources: []v1.VolumeProjection{{ServiceAccountToken: &v1.ServiceAccountTokenProjection{Path: "token"}}},
		}}}},
	}
	now := time.Now()
	all, _ := merge(nil, "api", pods, now)
	for i := 0; b.Loop(); i++ {
		one := pods[0].DeepCopy()
		one.ResourceVersion = fmt.Sprint(i)
		pods[0] = one
		all, _ = merge(all, "api", pods, now)
	}
}
