package agent

import "testing"

func TestMeasureCredentials(t *testing.T) {
	var none, one measured
	measureCredentials(&none, "")
	if f := none.Families(); len(f) != 0 {
		t.Errorf("without a configuration: %v", f)
	}
	measureCredentials(&one, "sha256:1f")
	f := one.Families()
	if len(f) != 1 || f[0].GetName() != "kubelet_credential_provider_config_info" || len(f[0].GetMetric()) != 1 {
		t.Fatalf("%v", f)
	}
	if m := f[0].GetMetric()[0]; m.GetGauge().GetValue() != 1 || len(m.GetLabel()) != 1 || m.GetLabel()[0].GetName() != "hash" || m.GetLabel()[0].GetValue() != "sha256:1f" {
		t.Errorf("%v", m)
	}
}
