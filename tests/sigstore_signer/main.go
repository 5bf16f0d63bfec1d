// Command sigstore_signer signs an image with a new key, with the libraries that cosign signs with, or
// as an identity, with a new instance of sigstore.
//
// It prints a JSON document with the public key, the payload and signature of simple signing, and
// a bundle with a DSSE envelope; for an identity with the roots and several such signatures.
package main

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/dsse"
	"github.com/sigstore/sigstore/pkg/signature/payload"
)

const (
	bundleType    = "application/vnd.dev.sigstore.bundle.v0.3+json"
	predicateType = "https://sigstore.dev/cosign/sign/v1"
)

// output is what the program prints.
type output struct {
	PublicKey string          `json:"publicKey"`
	Payload   []byte          `json:"payload"`
	Signature []byte          `json:"signature"`
	Bundle    json.RawMessage `json:"bundle"`
}

func main() {
	var signed any
	var err error
	switch {
	case len(os.Args) == 5 && os.Args[1] == "keyless":
		signed, err = keyless(os.Args[2], os.Args[3], os.Args[4])
	case len(os.Args) == 4:
		signed, err = sign(os.Args[1], os.Args[2], os.Args[3])
	default:
		fmt.Fprintln(os.Stderr, "usage: sigstore_signer ecdsa|rsa|ed25519 REFERENCE DIGEST")
		fmt.Fprintln(os.Stderr, "       sigstore_signer keyless REFERENCE DIGEST OTHER_DIGEST")
		os.Exit(2)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(signed)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func sign(kind, reference, digest string) (*output, error) {
	key, err := generate(kind)
	if err != nil {
		return nil, err
	}
	signer, err := signature.LoadSignerVerifier(key, crypto.SHA256)
	if err != nil {
		return nil, err
	}
	public, err := signer.PublicKey()
	if err != nil {
		return nil, err
	}
	pem, err := cryptoutils.MarshalPublicKeyToPEM(public)
	if err != nil {
		return nil, err
	}

	document, err := simplePayload(reference, digest)
	if err != nil {
		return nil, err
	}
	simple, err := signer.SignMessage(bytes.NewReader(document))
	if err != nil {
		return nil, err
	}

	signed, err := statement(digest)
	if err != nil {
		return nil, err
	}
	wrapped := dsse.WrapSigner(signer, "application/vnd.in-toto+json")
	envelope, err := wrapped.SignMessage(bytes.NewReader(signed))
	if err != nil {
		return nil, err
	}
	bundle, err := json.Marshal(map[string]any{
		"mediaType":            bundleType,
		"verificationMaterial": map[string]any{"publicKey": map[string]any{"hint": "key"}},
		"dsseEnvelope":         json.RawMessage(envelope),
	})
	if err != nil {
		return nil, err
	}
	return &output{string(pem), document, simple, bundle}, nil
}

// simplePayload returns a payload of simple signing.
func simplePayload(reference, digest string) ([]byte, error) {
	image, err := name.NewDigest(reference + "@" + digest)
	if err != nil {
		return nil, err
	}
	return payload.Cosign{Image: image}.MarshalJSON()
}

// statement returns a statement that is a signature.
func statement(digest string) ([]byte, error) {
	return json.Marshal(map[string]any{
		"_type":         "https://in-toto.io/Statement/v1",
		"predicateType": predicateType,
		"predicate":     map[string]any{},
		"subject": []any{map[string]any{
			"digest": map[string]string{"sha256": strings.TrimPrefix(digest, "sha256:")},
		}},
	})
}

func generate(kind string) (crypto.PrivateKey, error) {
	switch kind {
	case "ecdsa":
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "rsa":
		return rsa.GenerateKey(rand.Reader, 4096)
	case "ed25519":
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	}
	return nil, fmt.Errorf("unknown kind of key %q", kind)
}
