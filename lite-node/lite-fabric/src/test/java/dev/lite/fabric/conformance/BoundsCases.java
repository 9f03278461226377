package dev.lite.fabric.conformance;

interface BoundsCases extends ConformanceCases {}
