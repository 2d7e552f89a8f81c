package config

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
)

func TestRestartBackoff(t *testing.T) {
	const reduced, limited = "ReduceDefaultCrashLoopBackOffDecay", "KubeletCrashLoopBackOffMax"
	for _, tc := range []struct {
		name           string
		gates          map[string]bool
		field          time.Duration // 0 if it is not set
		first, maximum time.Duration
	}{
		{"defaults", nil, 0, 10 * time.Second, 5 * time.Minute},
		{"a maximum", nil, time.Minute, 10 * time.Second, time.Minute},
		{"a small maximum", nil, 3 * time.Second, 3 * time.Second, 3 * time.Second},
		{"no gate", map[string]bool{limited: false}, 0, 10 * time.Second, 5 * time.Minute},
		{"the field's default is the maximum", map[string]bool{reduced: true}, 0, time.Second, 5 * time.Minute},
		{"reduced, with a maximum", map[string]bool{reduced: true}, 2 * time.Minute, time.Second, 2 * time.Minute},
		{"only reduced", map[string]bool{reduced: true, limited: false}, 0, time.Second, time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			gates := resolveGates(tc.gates, newReport())
			var kc kubeletv1beta1.KubeletConfiguration
			if tc.field > 0 {
				kc.CrashLoopBackOff.MaxContainerRestartPeriod = &metav1.Duration{Duration: tc.field}
			}
			setDefaults(&kc, gates)
			if first, maximum := restartBackoff(&kc, gates); first != tc.first || maximum != tc.maximum {
				t.Errorf("%s to %s, want %s to %s", first, maximum, tc.first, tc.maximum)
			}
		})
	}
}
