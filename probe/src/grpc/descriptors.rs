//! Descriptions of services and messages out of files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use prost::Message as _;
use prost_reflect::DescriptorPool;
use prost_reflect::prost_types::{FileDescriptorProto, FileDescriptorSet};
use protox::Compiler;
use protox::file::{FileResolver, GoogleFileResolver};

use plan::Invalid;

/// The largest file of descriptors that is read, in bytes.
const SET_BYTES_MAX: u64 = 256 << 20;

/// Compiles `.proto` files. Imports are looked for in `import_paths`, then in each file's own
/// folder, then in the current one; those of `google/protobuf/` are built in.
pub(super) fn compile(
    files: &[PathBuf],
    import_paths: &[PathBuf],
) -> Result<DescriptorPool, Invalid> {
    let mut folders = import_paths.to_vec();
    folders.extend(files.iter().filter_map(|file| {
        let folder = file.parent()?;
        (!folder.as_os_str().is_empty()).then(|| folder.to_owned())
    }));
    folders.push(PathBuf::from("."));
    let mut known = BTreeSet::new();
    folders.retain(|folder| known.insert(folder.clone()));
    let mut compiler = Compiler::new(folders).map_err(|error| unfit(Path::new("."), &error))?;
    for file in files {
        if !file.exists() {
            return Err(Invalid(format!(
                "--proto {}: no such file; check the path",
                file.display()
            )));
        }
        compiler
            .open_file(file)
            .map_err(|error| unfit(file, &error))?;
    }
    Ok(compiler.descriptor_pool())
}

/// The sentence for a file that does not compile, with the place of the mistake.
fn unfit(file: &Path, error: &protox::Error) -> Invalid {
    // Its Debug form is `FILE:LINE:COLUMN: what is wrong`, as far as these are known.
    let mut text = format!("{error:?}");
    if let Some(name) = error.file().filter(|name| !text.contains(name)) {
        text = format!("{name}: {text}");
    }
    let advice = if text.contains("import '") {
        "; give its directory with --import-path"
    } else {
        ""
    };
    Invalid(format!(
        "--proto {} doesn't compile: {text}{advice}",
        file.display()
    ))
}

/// Reads a `FileDescriptorSet`.
pub(super) fn read_set(file: &Path) -> Result<DescriptorPool, Invalid> {
    let unfit = |why: &dyn std::fmt::Display, advice: &str| {
        Invalid(format!("--protoset {}: {why}; {advice}", file.display()))
    };
    let make = "create one with `protoc --include_imports -o FILE`";
    let length = fs::metadata(file).map_err(|error| unfit(&error, "check the path"))?;
    if length.len() > SET_BYTES_MAX {
        let why = format!("it's longer than the limit of {SET_BYTES_MAX} bytes");
        return Err(unfit(&why, make));
    }
    let bytes = fs::read(file).map_err(|error| unfit(&error, "check the path"))?;
    let set = FileDescriptorSet::decode(&*bytes)
        .map_err(|error| unfit(&format!("it isn't a descriptor set ({error})"), make))?;
    let files = set.file.into_iter();
    let mut files: BTreeMap<String, FileDescriptorProto> =
        files.map(|file| (file.name().to_owned(), file)).collect();
    add_built_in(&mut files);
    if let Some(name) = missing(&files).first() {
        return Err(unfit(&format!("the import {name} is missing"), make));
    }
    pool(files).map_err(|Invalid(why)| unfit(&why, make))
}

/// The imports that none of the files is.
pub(super) fn missing(files: &BTreeMap<String, FileDescriptorProto>) -> BTreeSet<String> {
    let imports = files.values().flat_map(|file| &file.dependency);
    let missing = imports.filter(|name| !files.contains_key(*name));
    missing.cloned().collect()
}

/// Adds those imports of `google/protobuf/` that are missing: what makes descriptors often leaves
/// them out.
pub(super) fn add_built_in(files: &mut BTreeMap<String, FileDescriptorProto>) {
    let built_in = GoogleFileResolver::new();
    let mut wanted: Vec<String> = missing(files).into_iter().collect();
    while let Some(name) = wanted.pop() {
        if files.contains_key(&name) {
            continue;
        }
        if let Ok(found) = built_in.open_file(&name) {
            let found = FileDescriptorProto::from(found);
            wanted.extend(found.dependency.clone());
            files.insert(name, found);
        }
    }
}

/// The pool of these files, which lack no import.
pub(super) fn pool(
    files: BTreeMap<String, FileDescriptorProto>,
) -> Result<DescriptorPool, Invalid> {
    let mut pool = DescriptorPool::new();
    pool.add_file_descriptor_protos(files.into_values())
        .map_err(|error| Invalid(format!("its descriptors contradict each other ({error:?})")))?;
    Ok(pool)
}
