package image

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// credentials are those to try for a pod's pull, in order: the pod's secrets, the node's
// config, the exec providers.
//
// Upstream: pkg/kubelet/images/image_manager.go, makeLookupPullCredentialsFunc.
func (p *Puller) credentials(ctx context.Context, req *Request, name Name) ([]Credential, error) {
	logins, err := secretLogins(req.PullSecrets)
	if err != nil {
		return nil, err
	}
	found := logins.Lookup(name.Repository)
	if p.keyring != nil {
		for _, a := range p.keyring.Lookup(name.Repository) {
			found = append(found, Credential{Auth: a})
		}
	}
	if p.providers != nil {
		found = append(found, p.providers.Lookup(ctx, name.Repository, req.Pod)...)
	}
	return found, nil
}

// secretLogins are the logins of all secrets that hold a docker config.
//
// Upstream: pkg/credentialprovider/secrets/secrets.go.
func secretLogins(secrets []v1.Secret) (Logins, error) {
	logins := Logins{}
	for i := range secrets {
		s := &secrets[i]
		key, old := v1.DockerConfigJsonKey, s.Type == v1.SecretTypeDockercfg
		if old {
			key = v1.DockerConfigKey
		} else if s.Type != v1.SecretTypeDockerConfigJson {
			continue
		}
		if len(s.Data[key]) == 0 {
			continue
		}
		entries, err := parseDockerConfig(fmt.Sprintf("%s of secret %s/%s", key, s.Namespace, s.Name), s.Data[key], old)
		if err != nil {
			return nil, err
		}
		logins.Add(entries, Credential{Secret: &Origin{UID: string(s.UID), Namespace: s.Namespace, Name: s.Name}})
	}
	return logins, nil
}

// authsOf are the credentials as the runtime takes them.
func authsOf(credentials []Credential) []*runtimeapi.AuthConfig {
	var out []*runtimeapi.AuthConfig
	for _, c := range credentials {
		out = append(out, c.Auth)
	}
	return out
}
