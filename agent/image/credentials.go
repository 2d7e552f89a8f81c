package image

import (
	"context"
	"encoding/base64"
	"fmt"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// credentials returns the credentials to try for a pod's pull, in order: the pod's secrets, the node's config, the exec
// providers.
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
	p.disclose(req.PodUID, name.Repository, found)
	return found, nil
}

// disclose adds the logins to the vault, also in the form that HTTP uses: errors of a registry or the runtime may quote
// them.
func (p *Puller) disclose(podUID, repository string, found []Credential) {
	var values []string
	for _, c := range found {
		a := c.Auth
		values = append(values, a.GetUsername(), a.GetPassword(), a.GetAuth(), a.GetIdentityToken(), a.GetRegistryToken())
		if a.GetPassword() != "" {
			values = append(values, base64.StdEncoding.EncodeToString([]byte(a.GetUsername()+":"+a.GetPassword())))
		}
	}
	if len(values) > 0 {
		p.secrets.Learn(podUID, "logins for "+repository, values...)
	}
}

// secretLogins returns the logins of all secrets that contain a docker config.
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

// authsOf returns the credentials as CRI messages.
func authsOf(credentials []Credential) []*runtimeapi.AuthConfig {
	var out []*runtimeapi.AuthConfig
	for _, c := range credentials {
		out = append(out, c.Auth)
	}
	return out
}
