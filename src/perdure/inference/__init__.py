"""Who answers and who is paid: providers, retries, limits, prices.

Every model call of a run goes through one `perdure.inference.host.InferenceHost`. Modules are
imported by name, so that a run loads only the provider that it uses.
"""
