"""What calls compiled code from other languages than C and C++.

Signature + object file ─► matmul.wasm, matmul.mjs, matmul.d.mts      JavaScript and TypeScript
                        ─► matmul.rs                                  Rust
                        ─► matmul.py, libmatmul.so                    Python with NumPy
"""
