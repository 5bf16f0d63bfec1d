package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"time"
)

const (
	identity = "https://github.com/lamps/lamp/.github/workflows/release.yml@refs/tags/v1.0.0"
	issuer   = "https://token.actions.githubusercontent.com"
	logName  = "rekor.example.com"
)

var (
	issuerExtension = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 1}
	issuerV2        = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 8}
	timestampList   = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}
)

// keylessOutput has signatures by an identity, and the roots of two instances of sigstore, of which the
// first one made them.
type keylessOutput struct {
	Identity   string                  `json:"identity"`
	Issuer     string                  `json:"issuer"`
	Roots      []any                   `json:"roots"`
	Signatures map[string]*keylessPair `json:"signatures"`
}

// keylessPair is a signature in both forms.
type keylessPair struct {
	Payload     []byte            `json:"payload"`
	Annotations map[string]string `json:"annotations"`
	Bundle      any               `json:"bundle"`
}

// instance is an instance of sigstore: Fulcio, its certificate transparency log, and Rekor.
type instance struct {
	root, intermediate *x509.Certificate
	authority          *ecdsa.PrivateKey
	transparency       *ecdsa.PrivateKey
	log                *ecdsa.PrivateKey
	now                time.Time
}

func keyless(reference, digest, other string) (*keylessOutput, error) {
	first, err := newInstance()
	if err != nil {
		return nil, err
	}
	second, err := newInstance()
	if err != nil {
		return nil, err
	}
	made := map[string]*keylessPair{}
	for _, one := range []struct {
		name, digest string
		delay        time.Duration
		submitted    bool
	}{
		{"valid", digest, time.Minute, true},
		{"other", other, time.Minute, true},
		{"late", digest, time.Hour, true},
		{"unsubmitted", digest, time.Minute, false},
	} {
		made[one.name], err = first.sign(reference, one.digest, one.delay, one.submitted)
		if err != nil {
			return nil, err
		}
	}
	return &keylessOutput{identity, issuer, []any{first.trusted(), second.trusted()}, made}, nil
}

func newInstance() (*instance, error) {
	keys := make([]*ecdsa.PrivateKey, 4)
	for i := range keys {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		keys[i] = key
	}
	now := time.Now().UTC().Truncate(time.Second).Add(-2 * time.Hour)
	authority := func(serial int64, name string, length int) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber:          big.NewInt(serial),
			Subject:               pkix.Name{Organization: []string{"example.com"}, CommonName: name},
			NotBefore:             now.Add(-time.Hour),
			NotAfter:              now.AddDate(10, 0, 0),
			KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
			BasicConstraintsValid: true,
			IsCA:                  true,
			MaxPathLen:            length,
			MaxPathLenZero:        length == 0,
		}
	}
	template := authority(1, "root", 1)
	root, err := certificate(template, template, keys[0].Public(), keys[0])
	if err != nil {
		return nil, err
	}
	template = authority(2, "intermediate", 0)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}
	intermediate, err := certificate(template, root, keys[1].Public(), keys[0])
	if err != nil {
		return nil, err
	}
	return &instance{root, intermediate, keys[1], keys[2], keys[3], now}, nil
}

// sign signs an image as the identity; the log has the entries after a delay, and the certificate is
// submitted to the certificate transparency log or not.
func (it *instance) sign(reference, digest string, delay time.Duration, submitted bool) (*keylessPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	leaf, err := it.leaf(key.Public(), submitted)
	if err != nil {
		return nil, err
	}
	logged := it.now.Add(delay).Unix()

	document, err := simplePayload(reference, digest)
	if err != nil {
		return nil, err
	}
	signature, err := signMessage(key, document)
	if err != nil {
		return nil, err
	}
	entry := map[string]any{
		"apiVersion": "0.0.1",
		"kind":       "hashedrekord",
		"spec": map[string]any{
			"data":      map[string]any{"hash": hash(document)},
			"signature": map[string]any{"content": signature, "publicKey": map[string]any{"content": pemOf(leaf)}},
		},
	}
	simple, err := it.entry(entry, logged)
	if err != nil {
		return nil, err
	}
	annotation, err := json.Marshal(map[string]any{
		"SignedEntryTimestamp": simple.promise,
		"Payload":              simple.payload(),
	})
	if err != nil {
		return nil, err
	}

	payload, err := statement(digest)
	if err != nil {
		return nil, err
	}
	const payloadType = "application/vnd.in-toto+json"
	message := fmt.Sprintf("DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload)
	enveloped, err := signMessage(key, []byte(message))
	if err != nil {
		return nil, err
	}
	envelope := map[string]any{
		"payload":     payload,
		"payloadType": payloadType,
		"signatures":  []any{map[string]any{"sig": enveloped}},
	}
	text, err := json.Marshal(envelope)
	if err != nil {
		return nil, err
	}
	dsse, err := it.entry(map[string]any{
		"apiVersion": "0.0.1",
		"kind":       "dsse",
		"spec": map[string]any{
			"envelopeHash": hash(text),
			"payloadHash":  hash(payload),
			"signatures":   []any{map[string]any{"signature": enveloped, "verifier": pemOf(leaf)}},
		},
	}, logged)
	if err != nil {
		return nil, err
	}
	bundle, err := it.bundle(leaf, envelope, dsse)
	if err != nil {
		return nil, err
	}
	annotations := map[string]string{
		"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(signature),
		"dev.sigstore.cosign/certificate":    string(pemOf(leaf)),
		"dev.sigstore.cosign/chain":          string(pemOf(it.intermediate)) + string(pemOf(it.root)),
		"dev.sigstore.cosign/bundle":         string(annotation),
	}
	return &keylessPair{document, annotations, bundle}, nil
}

// leaf issues a certificate for ten minutes.
func (it *instance) leaf(key crypto.PublicKey, submitted bool) (*x509.Certificate, error) {
	uri, err := url.Parse(identity)
	if err != nil {
		return nil, err
	}
	text, err := asn1.MarshalWithParams(issuer, "utf8")
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(3),
		NotBefore:    it.now,
		NotAfter:     it.now.Add(10 * time.Minute),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
		URIs:         []*url.URL{uri},
		ExtraExtensions: []pkix.Extension{
			{Id: issuerExtension, Value: []byte(issuer)},
			{Id: issuerV2, Value: text},
		},
	}
	unsubmitted, err := certificate(template, it.intermediate, key, it.authority)
	if err != nil || !submitted {
		return unsubmitted, err
	}

	// The log signs the certificate without the list of timestamps, which is the last extension.
	timestamp, err := it.certificateTimestamp(unsubmitted.RawTBSCertificate)
	if err != nil {
		return nil, err
	}
	list := prefixed(2, prefixed(2, timestamp))
	value, err := asn1.Marshal(list)
	if err != nil {
		return nil, err
	}
	template.ExtraExtensions = append(template.ExtraExtensions, pkix.Extension{Id: timestampList, Value: value})
	return certificate(template, it.intermediate, key, it.authority)
}

// certificateTimestamp signs a precertificate (RFC 6962, section 3.2).
func (it *instance) certificateTimestamp(certificate []byte) ([]byte, error) {
	issuer := sha256.Sum256(it.intermediate.RawSubjectPublicKeyInfo)
	stamp := binary.BigEndian.AppendUint64(nil, uint64(it.now.UnixMilli()))
	signed := append([]byte{0, 0}, stamp...)
	signed = append(signed, 0, 1)
	signed = append(signed, issuer[:]...)
	signed = append(signed, prefixed(3, certificate)...)
	signed = append(signed, 0, 0)
	signature, err := signMessage(it.transparency, signed)
	if err != nil {
		return nil, err
	}
	id := keyID(it.transparency)
	timestamp := append([]byte{0}, id[:]...)
	timestamp = append(timestamp, stamp...)
	// No extensions, SHA-256, ECDSA.
	timestamp = append(timestamp, 0, 0, 4, 3)
	return append(timestamp, prefixed(2, signature)...), nil
}

// logEntry is an entry of Rekor.
type logEntry struct {
	body, promise []byte
	kind, version string
	time          int64
	id            [32]byte
}

// index is the index of all entries, of which a tree has two.
const index = 1

func (entry *logEntry) payload() map[string]any {
	return map[string]any{
		"body":           entry.body,
		"integratedTime": entry.time,
		"logID":          hex.EncodeToString(entry.id[:]),
		"logIndex":       index,
	}
}

// entry adds an entry to the log and promises its inclusion.
func (it *instance) entry(body map[string]any, logged int64) (*logEntry, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	entry := &logEntry{
		body: text, kind: body["kind"].(string), version: body["apiVersion"].(string), time: logged, id: keyID(it.log),
	}
	// The keys of maps are sorted, which is the canonical form.
	promised, err := json.Marshal(entry.payload())
	if err != nil {
		return nil, err
	}
	entry.promise, err = signMessage(it.log, promised)
	return entry, err
}

// bundle returns a bundle of version 0.3, with a proof of inclusion.
func (it *instance) bundle(leaf *x509.Certificate, envelope any, entry *logEntry) (any, error) {
	sibling := sha256.Sum256([]byte("\x00another entry"))
	own := sha256.Sum256(append([]byte{0}, entry.body...))
	root := sha256.Sum256(append(append([]byte{1}, sibling[:]...), own[:]...))
	note := fmt.Sprintf("%s - 1\n2\n%s\n", logName, base64.StdEncoding.EncodeToString(root[:]))
	signature, err := signMessage(it.log, []byte(note))
	if err != nil {
		return nil, err
	}
	signed := base64.StdEncoding.EncodeToString(append(entry.id[:4:4], signature...))
	return map[string]any{
		"mediaType": bundleType,
		"verificationMaterial": map[string]any{
			"certificate": map[string]any{"rawBytes": leaf.Raw},
			"tlogEntries": []any{map[string]any{
				"logIndex":         fmt.Sprint(index),
				"logId":            map[string]any{"keyId": entry.id[:]},
				"kindVersion":      map[string]any{"kind": entry.kind, "version": entry.version},
				"integratedTime":   fmt.Sprint(entry.time),
				"inclusionPromise": map[string]any{"signedEntryTimestamp": entry.promise},
				"inclusionProof": map[string]any{
					"logIndex":   fmt.Sprint(index),
					"rootHash":   root[:],
					"treeSize":   "2",
					"hashes":     []any{sibling[:]},
					"checkpoint": map[string]any{"envelope": note + "\n— " + logName + " " + signed + "\n"},
				},
				"canonicalizedBody": entry.body,
			}},
		},
		"dsseEnvelope": envelope,
	}, nil
}

// trusted returns the instance as a TrustedRoot of sigstore.
func (it *instance) trusted() any {
	validity := map[string]any{"start": it.now.Add(-time.Hour).Format(time.RFC3339)}
	log := func(url string, key *ecdsa.PrivateKey) any {
		id := keyID(key)
		return map[string]any{
			"baseUrl":       url,
			"hashAlgorithm": "SHA2_256",
			"publicKey": map[string]any{
				"rawBytes":   publicKey(key),
				"keyDetails": "PKIX_ECDSA_P256_SHA_256",
				"validFor":   validity,
			},
			"logId": map[string]any{"keyId": id[:]},
		}
	}
	return map[string]any{
		"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
		"tlogs":     []any{log("https://"+logName, it.log)},
		"ctlogs":    []any{log("https://ctfe.example.com", it.transparency)},
		"certificateAuthorities": []any{map[string]any{
			"subject": map[string]any{"organization": "example.com", "commonName": "root"},
			"uri":     "https://fulcio.example.com",
			"certChain": map[string]any{"certificates": []any{
				map[string]any{"rawBytes": it.intermediate.Raw},
				map[string]any{"rawBytes": it.root.Raw},
			}},
			"validFor": validity,
		}},
	}
}

func certificate(template, parent *x509.Certificate, key crypto.PublicKey, signer crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key, signer)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func signMessage(key *ecdsa.PrivateKey, message []byte) ([]byte, error) {
	digest := sha256.Sum256(message)
	return ecdsa.SignASN1(rand.Reader, key, digest[:])
}

func hash(content []byte) map[string]any {
	digest := sha256.Sum256(content)
	return map[string]any{"algorithm": "sha256", "value": hex.EncodeToString(digest[:])}
}

func pemOf(certificate *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
}

func publicKey(key *ecdsa.PrivateKey) []byte {
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		panic(err)
	}
	return der
}

// keyID identifies a log.
func keyID(key *ecdsa.PrivateKey) [32]byte {
	return sha256.Sum256(publicKey(key))
}

// prefixed returns a vector of TLS, after its length in so many bytes.
func prefixed(bytes int, content []byte) []byte {
	length := binary.BigEndian.AppendUint32(nil, uint32(len(content)))
	return append(length[4-bytes:], content...)
}
