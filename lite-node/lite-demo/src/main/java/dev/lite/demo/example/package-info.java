/** Examples of applications on LITE, for {@code mvn -Pexample -Dlite.example=NAME}. */
@NullMarked
package dev.lite.demo.example;

import org.jspecify.annotations.NullMarked;
