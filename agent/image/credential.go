package image

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Credential is a login at a registry and its origin. If it has neither a secret nor a service account, all pods of the
// node may use it.
type Credential struct {
	Auth *runtimeapi.AuthConfig
	// Hash distinguishes logins without keeping them.
	Hash           string
	Secret         *Origin
	ServiceAccount *Origin
}

// Origin identifies the object that a credential is from.
type Origin struct{ UID, Namespace, Name string }

// Login is one entry of a docker config.
type Login struct {
	Username string `json:"username"`
	Password string `json:"password"`
	Email    string `json:"email"`
	// Auth is base64 of user:password and takes precedence over Username and Password.
	Auth string `json:"auth"`
}

// credential returns the login as a credential of that origin.
func (l Login) credential(from Credential) Credential {
	from.Auth = &runtimeapi.AuthConfig{Username: l.Username, Password: l.Password}
	from.Hash = l.hash()
	return from
}

// hash is written into records of pulls, which another kubelet may read.
//
// Upstream: pkg/credentialprovider/keyring.go, hashAuthConfig.
func (l Login) hash() string {
	raw, err := json.Marshal(struct {
		Username string `json:"username,omitempty"`
		Password string `json:"password,omitempty"`
		Email    string `json:"email,omitempty"`
	}{l.Username, l.Password, l.Email})
	if err != nil { // cannot happen: three strings
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
