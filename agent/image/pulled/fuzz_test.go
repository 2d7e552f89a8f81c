package pulled

import (
	"bytes"
	"encoding/json"
	"testing"

	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
)

// FuzzRecord reads records from this agent, from upstream's kubelet, or from a bad disk.
func FuzzRecord(f *testing.F) {
	const head = `{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1",`
	for _, s := range []string{
		"", "{}", "null", head + `"lastUpdatedTime":"2026-01-01T00:00:00Z","imageRef":"sha256:a","credentialMapping":{"docker.io/library/x":{"nodePodsAccessible":true}}}`,
		head + `"credentialMapping":{"r":{"kubernetesSecrets":[{"uid":"1","namespace":"n","name":"s","credentialHash":"h"},{"uid":"1","namespace":"n","name":"s","credentialHash":"i"}]}}}`,
		head + `"credentialMapping":{"r":{"kubernetesServiceAccounts":[{"uid":"1","namespace":"n","name":"a"}]}}}`, head + `"lastUpdatedTime":null}`, head + `"lastUpdatedTime":7}`,
		`{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1alpha1"}`, `{"kind":"ImagePullIntent","apiVersion":"kubelet.config.k8s.io/v1beta1","image":"x"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var in intent
		if err := parse(raw, "ImagePullIntent", &in, &in.TypeMeta); err == nil && in.Kind != "ImagePullIntent" {
			t.Fatalf("a %s is taken for an intent", in.Kind)
		}
		var r record
		if err := parse(raw, "ImagePulledRecord", &r, &r.TypeMeta); err != nil {
			return
		}
		text, err := json.Marshal(&r)
		if err != nil {
			return // for example a time after year 9999, which is never written
		}
		var again record
		if err := parse(text, "ImagePulledRecord", &again, &again.TypeMeta); err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if twice, err := json.Marshal(&again); err != nil || !bytes.Equal(text, twice) {
			t.Fatalf("%s\n%s, %v", text, twice, err)
		}
		more := credentials{
			KubernetesSecrets:         []kubeletv1beta1.ImagePullSecret{{UID: "1", Namespace: "n", Name: "s", CredentialHash: "new"}},
			KubernetesServiceAccounts: []kubeletv1beta1.ImagePullServiceAccount{{UID: "1", Namespace: "n", Name: "a"}},
		}
		for repo, have := range r.CredentialMapping {
			merged, _ := add(*have.DeepCopy(), more)
			if _, changed := add(*merged.DeepCopy(), more); changed {
				t.Fatalf("%s: the same again changes %+v", repo, merged)
			}
			if !have.NodePodsAccessible && !matches(merged.KubernetesSecrets, more.KubernetesSecrets[0]) {
				t.Fatalf("%s: what was added is not there", repo)
			}
			if len(merged.KubernetesSecrets) > len(have.KubernetesSecrets)+1 || have.NodePodsAccessible && !merged.NodePodsAccessible {
				t.Fatalf("%s: %+v became %+v", repo, have, merged)
			}
		}
	})
}
