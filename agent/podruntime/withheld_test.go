package podruntime

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/redact"
)

// The output of a container that an earlier agent created may contain a Secret's value from that agent's time.
func TestWithheld(t *testing.T) {
	volume := func(from v1.VolumeSource) []v1.Volume { return []v1.Volume{{Name: "v", VolumeSource: from}} }
	projected := func(from v1.VolumeProjection) []v1.Volume {
		return volume(v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{from}}})
	}
	fromSecret := []v1.EnvVar{{Name: "X", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{Key: "k"}}}}
	for name, c := range map[string]struct {
		env     []v1.EnvVar
		volumes []v1.Volume
		want    bool
	}{
		"plain":           {[]v1.EnvVar{{Name: "X", Value: "x"}}, volume(v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}), false},
		"variable":        {fromSecret, nil, true},
		"volume":          {nil, volume(v1.VolumeSource{Secret: &v1.SecretVolumeSource{}}), true},
		"secret in many":  {nil, projected(v1.VolumeProjection{Secret: &v1.SecretProjection{}}), true},
		"certificate":     {nil, projected(v1.VolumeProjection{PodCertificate: &v1.PodCertificateProjection{}}), true},
		"token, as usual": {nil, projected(v1.VolumeProjection{ServiceAccountToken: &v1.ServiceAccountTokenProjection{}}), false},
	} {
		pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main", Env: c.env}}, Volumes: c.volumes}}
		pod.UID = "u"
		v := redact.NewVault()
		if got := Withheld(v, pod, "main"); got != c.want {
			t.Errorf("%s: withheld %v of an earlier agent's, want %v", name, got, c.want)
		}
		v.Learn("u", redact.Environment("main"))
		if Withheld(v, pod, "main") || Withheld(v, pod, "none") || Withheld(nil, pod, "main") {
			t.Errorf("%s: withheld of this agent's", name)
		}
	}
}
