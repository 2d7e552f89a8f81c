package criconfig

import (
	"slices"

	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Shown returns a container's configuration in its redacted form: values from Secrets are redacted in the environment, and wherever
// $(NAME) inserted them. cfg is the result of [Container] for c and env; it is not changed, and it is returned itself if nothing is
// secret.
func Shown(cfg *runtimeapi.ContainerConfig, c *v1.Container, env []Var) *runtimeapi.ContainerConfig {
	if !slices.ContainsFunc(env, func(v Var) bool { return v.Shown != "" }) {
		return cfg
	}
	values := make(map[string]Var, len(env))
	for _, v := range env {
		values[v.Name] = v
	}
	out := proto.CloneOf(cfg)
	for _, kv := range out.GetEnvs() {
		kv.Value = []byte(values[kv.GetKey()].shown())
	}
	e := showing(func(name string) (Var, bool) {
		v, ok := values[name]
		return v, ok
	})
	for i, text := range c.Command {
		out.Command[i] = e.show(text)
	}
	for i, text := range c.Args {
		out.Args[i] = e.show(text)
	}
	for i := range c.VolumeMounts {
		m := &c.VolumeMounts[i]
		if m.SubPathExpr == "" {
			continue
		}
		for _, mount := range out.GetMounts() {
			if mount.GetContainerPath() == absolute(m.MountPath) && mount.GetImageSubPath() != "" {
				mount.ImageSubPath = e.show(m.SubPathExpr)
			}
		}
	}
	return out
}
