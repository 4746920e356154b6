"""From the evidence to a verdict: answer models, the prompt, claims, the verifier, the run DAG, the pipeline."""
