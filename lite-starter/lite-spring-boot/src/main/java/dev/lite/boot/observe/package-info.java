/** What an application's session does, for Actuator and Micrometer. Each class is used only with its library. */
@NullMarked
package dev.lite.boot.observe;

import org.jspecify.annotations.NullMarked;
