package config

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
)

func TestShownHasNoCredentials(t *testing.T) {
	c := &Config{Kubelet: &kubeletv1beta1.KubeletConfiguration{
		StaticPodURL: "https://user:password1@host/pods?token=password2", StaticPodURLHeader: map[string][]string{"Authorization": {"password3", "password4"}},
		ClusterDomain: "cluster.local",
	}}
	text, err := json.Marshal(c.Shown())
	if err != nil {
		t.Fatal(err)
	}
	if got := string(text); strings.Contains(got, "password") || !strings.Contains(got, `"https://host/pods"`) || !strings.Contains(got, "cluster.local") {
		t.Errorf("got %s, want all but the credentials", got)
	}
	if !strings.Contains(string(text), `"enableSystemLogQuery":false`) { // upstream shows it, although it has no default
		t.Errorf("got %s, want enableSystemLogQuery", text)
	}
	if c.Kubelet.StaticPodURLHeader["Authorization"][0] != "password3" {
		t.Error("the configuration in force was changed")
	}
}
