package criconfig_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

// secretOf returns one Secret and one ConfigMap, whatever is requested.
type secretOf map[string][]byte

func (s secretOf) Secret(context.Context, string, string) (*v1.Secret, error) {
	return &v1.Secret{Data: s}, nil
}

func (secretOf) ConfigMap(context.Context, string, string) (*v1.ConfigMap, error) {
	return &v1.ConfigMap{Data: map[string]string{"plain": "plain"}}, nil
}

// A Secret's value is redacted wherever $(NAME) inserted it, however short it is; other values are not.
func TestShown(t *testing.T) {
	key := &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{Key: "k"}}
	c := &v1.Container{
		Name:    "web",
		EnvFrom: []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{}, Prefix: "F_"}, {ConfigMapRef: &v1.ConfigMapEnvSource{}}},
		Env: []v1.EnvVar{
			{Name: "USER", Value: "bob"},
			{Name: "K", ValueFrom: key},
			{Name: "DATABASE_URL", Value: "pg://$(USER):$(K)@db"},
			{Name: "AGAIN", Value: "$(DATABASE_URL)?$$(K)$(NONE)"},
			{Name: "F_k2", Value: "literal now"},
			{Name: "FILE", ValueFrom: &v1.EnvVarSource{FileKeyRef: &v1.FileKeySelector{VolumeName: "v", Path: "p", Key: "a"}}},
		},
		Command: []string{"run", "$(K)"}, Args: []string{"-u=$(AGAIN)", "-b=$(USER)", "$$(K)"},
		VolumeMounts: []v1.VolumeMount{{Name: "img", MountPath: "/img", SubPathExpr: "d/$(K)"}},
	}
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{*c}}}
	env, err := criconfig.Env(t.Context(), pod, c, criconfig.EnvInput{
		Objects: secretOf{"k": []byte("#7"), "k2": []byte("innocent")},
		File:    func(string, string) ([]byte, error) { return []byte("a='fetched'\n"), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"#7", "#7", "fetched"}, criconfig.Secrets(env)); diff != "" {
		t.Error("secrets", diff)
	}
	cfg, err := criconfig.Container(pod, c, criconfig.Node{}, criconfig.ContainerInput{
		Env: env, Volumes: map[string]criconfig.Volume{"img": {Image: &runtimeapi.ImageSpec{Image: "i"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	sent := prototext.Format(cfg)
	shown := criconfig.Shown(cfg, c, env)
	if prototext.Format(cfg) != sent || cfg.GetArgs()[0] != "-u=pg://bob:#7@db?$(K)$(NONE)" || cfg.GetMounts()[0].GetImageSubPath() != "d/#7" {
		t.Error("what is sent was changed", sent)
	}
	if text := prototext.Format(shown); strings.Contains(text, "#7") || strings.Contains(text, "innocent") || strings.Contains(text, "fetched") {
		t.Error("shown:", text)
	}
	var got []string
	for _, kv := range shown.GetEnvs() {
		got = append(got, kv.GetKey()+"="+string(kv.GetValue()))
	}
	got = append(got, shown.GetCommand()...)
	got = append(got, shown.GetArgs()...)
	got = append(got, shown.GetMounts()[0].GetImageSubPath())
	if diff := cmp.Diff([]string{
		"F_k=[redacted]", "F_k2=literal now", "plain=plain", "USER=bob", "K=[redacted]", "DATABASE_URL=pg://bob:[redacted]@db",
		"AGAIN=pg://bob:[redacted]@db?$(K)$(NONE)", "FILE=[redacted]",
		"run", "[redacted]", "-u=pg://bob:[redacted]@db?$(K)$(NONE)", "-b=bob", "$(K)", "d/[redacted]",
	}, got); diff != "" {
		t.Error(diff)
	}
	if plain := criconfig.Shown(cfg, c, nil); plain != cfg {
		t.Error("a configuration without secrets is copied")
	}
}
